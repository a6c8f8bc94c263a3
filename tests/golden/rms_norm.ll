; a reduction and what uses it, in one kernel

; == mul_sum_div_add_rsqrt_mul
; loop [p0, p1] kept 1 vector 1
;   buffer b0 f32
;   buffer b1 f32
;   buffer b2 f32 written
;   access a0 b0 + 0 [p2, 1]
;   access a1 b1 + 0 [0, 1]
;   access a2 b2 + 0 [p3, 1]
;   %0 f32 = load a0
;   %1 f32 = op Mul %0 %0
;   %2 f32 = reduce sum %1
;   %3 f32 = param p4
;   %4 f32 = op Div %2 %3
;   %5 f32 = const 9.99999997e-07 #3eb0c6f7a0000000
;   %6 f32 = op Add %4 %5
;   %7 f32 = op Rsqrt %6
;   %8 f32 = op Mul %0 %7
;   %9 f32 = load a1
;   %10 f32 = op Mul %8 %9
;   %11 f32 = store a2 %10
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr i64, ptr %1, i64 1
  %8 = load i64, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 0
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr ptr, ptr %0, i64 1
  %12 = load ptr, ptr %11, align 8
  %13 = getelementptr ptr, ptr %0, i64 2
  %14 = load ptr, ptr %13, align 8
  %15 = getelementptr i64, ptr %1, i64 2
  %16 = load i64, ptr %15, align 8
  %17 = getelementptr i64, ptr %1, i64 3
  %18 = load i64, ptr %17, align 8
  %19 = getelementptr i64, ptr %1, i64 4
  %20 = load i64, ptr %19, align 8
  %21 = sitofp i64 %20 to float
  %22 = mul i64 1, %8
  %23 = call i64 @llvm.smax.i64(i64 %22, i64 1)
  %24 = udiv i64 1024, %23
  %25 = call i64 @llvm.smax.i64(i64 %24, i64 1)
  %26 = icmp sgt i64 %22, 65536
  %27 = select i1 %26, i64 0, i64 %25
  %28 = mul i64 %27, %16
  %29 = mul i64 %27, %18
  %30 = mul i64 1, %6
  %31 = mul i64 %30, %8
  %32 = icmp sge i64 %31, 8388608
  %33 = ptrtoint ptr %14 to i64
  %34 = or i64 0, %33
  %35 = mul i64 %18, 4
  %36 = or i64 %34, %35
  %37 = and i64 %36, 63
  %38 = icmp eq i64 %37, 0
  %39 = and i1 %32, %38
  br label %task.head

done:                                             ; preds = %endif26, %entry
  ret void

task.head:                                        ; preds = %tail.end24, %work
  %task1 = phi i64 [ %2, %work ], [ %230, %tail.end24 ]
  %40 = phi i64 [ %2, %work ], [ %229, %tail.end24 ]
  %41 = icmp slt i64 %task1, %3
  br i1 %41, label %task, label %task.end

task:                                             ; preds = %task.head
  %42 = mul i64 %40, %16
  %43 = getelementptr float, ptr %10, i64 %42
  %44 = mul i64 %40, %18
  %45 = getelementptr float, ptr %14, i64 %44
  br label %block.head

block.head:                                       ; preds = %tail.end, %task
  %block2 = phi i64 [ 0, %task ], [ %130, %tail.end ]
  %46 = phi float [ 0.000000e+00, %task ], [ %123, %tail.end ]
  %47 = phi float [ 0.000000e+00, %task ], [ %129, %tail.end ]
  %48 = icmp slt i64 %block2, %8
  br i1 %48, label %block, label %block.end

block:                                            ; preds = %block.head
  %49 = add i64 %block2, 8192
  %50 = call i64 @llvm.smin.i64(i64 %49, i64 %8)
  %51 = sub i64 %50, %block2
  %52 = and i64 %51, -32
  %53 = add i64 %block2, %52
  br label %vector.head

vector.head:                                      ; preds = %vector, %block
  %vector3 = phi i64 [ %block2, %block ], [ %86, %vector ]
  %54 = phi <8 x float> [ zeroinitializer, %block ], [ %58, %vector ]
  %55 = phi <8 x float> [ zeroinitializer, %block ], [ %59, %vector ]
  %56 = phi <8 x float> [ zeroinitializer, %block ], [ %60, %vector ]
  %57 = phi <8 x float> [ zeroinitializer, %block ], [ %61, %vector ]
  %58 = phi <8 x float> [ zeroinitializer, %block ], [ %82, %vector ]
  %59 = phi <8 x float> [ zeroinitializer, %block ], [ %83, %vector ]
  %60 = phi <8 x float> [ zeroinitializer, %block ], [ %84, %vector ]
  %61 = phi <8 x float> [ zeroinitializer, %block ], [ %85, %vector ]
  %62 = icmp slt i64 %vector3, %53
  br i1 %62, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %63 = mul i64 %vector3, 1
  %64 = getelementptr float, ptr %43, i64 %63
  %65 = load <8 x float>, ptr %64, align 4
  %66 = mul i64 %vector3, 1
  %67 = getelementptr float, ptr %43, i64 %66
  %68 = getelementptr float, ptr %67, i64 8
  %69 = load <8 x float>, ptr %68, align 4
  %70 = mul i64 %vector3, 1
  %71 = getelementptr float, ptr %43, i64 %70
  %72 = getelementptr float, ptr %71, i64 16
  %73 = load <8 x float>, ptr %72, align 4
  %74 = mul i64 %vector3, 1
  %75 = getelementptr float, ptr %43, i64 %74
  %76 = getelementptr float, ptr %75, i64 24
  %77 = load <8 x float>, ptr %76, align 4
  %78 = fmul <8 x float> %65, %65
  %79 = fmul <8 x float> %69, %69
  %80 = fmul <8 x float> %73, %73
  %81 = fmul <8 x float> %77, %77
  %82 = fadd <8 x float> %78, %54
  %83 = fadd <8 x float> %79, %55
  %84 = fadd <8 x float> %80, %56
  %85 = fadd <8 x float> %81, %57
  %86 = add i64 %vector3, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail4 = phi i64 [ %53, %vector.end ], [ %106, %tail ]
  %87 = phi <8 x float> [ %54, %vector.end ], [ %88, %tail ]
  %88 = phi <8 x float> [ %55, %vector.end ], [ %89, %tail ]
  %89 = phi <8 x float> [ %56, %vector.end ], [ %90, %tail ]
  %90 = phi <8 x float> [ %57, %vector.end ], [ %91, %tail ]
  %91 = phi <8 x float> [ %58, %vector.end ], [ %92, %tail ]
  %92 = phi <8 x float> [ %59, %vector.end ], [ %93, %tail ]
  %93 = phi <8 x float> [ %60, %vector.end ], [ %94, %tail ]
  %94 = phi <8 x float> [ %61, %vector.end ], [ %105, %tail ]
  %95 = icmp slt i64 %tail4, %50
  br i1 %95, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %96 = sub i64 %50, %tail4
  %97 = call i64 @llvm.umin.i64(i64 %96, i64 8)
  %98 = trunc i64 %97 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %98, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %99 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %100 = mul i64 %tail4, 1
  %101 = getelementptr float, ptr %43, i64 %100
  %102 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %101, i32 4, <8 x i1> %99, <8 x float> zeroinitializer)
  %103 = fmul <8 x float> %102, %102
  %104 = fadd <8 x float> %103, %87
  %105 = select <8 x i1> %99, <8 x float> %104, <8 x float> %87
  %106 = add i64 %tail4, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %107 = fadd <8 x float> %87, %91
  %108 = fadd <8 x float> %88, %92
  %109 = fadd <8 x float> %89, %93
  %110 = fadd <8 x float> %90, %94
  %111 = fadd <8 x float> %107, %109
  %112 = fadd <8 x float> %108, %110
  %113 = fadd <8 x float> %111, %112
  %114 = shufflevector <8 x float> %113, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %115 = shufflevector <8 x float> %113, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %116 = fadd <4 x float> %115, %114
  %117 = shufflevector <4 x float> %116, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %118 = shufflevector <4 x float> %116, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %119 = fadd <2 x float> %118, %117
  %120 = extractelement <2 x float> %119, i64 1
  %121 = extractelement <2 x float> %119, i64 0
  %122 = fadd float %121, %120
  %123 = fadd float %46, %122
  %124 = fsub float %123, %46
  %125 = fsub float %122, %124
  %126 = fsub float %123, %124
  %127 = fsub float %46, %126
  %128 = fadd float %127, %125
  %129 = fadd float %47, %128
  %130 = add i64 %block2, 8192
  br label %block.head

block.end:                                        ; preds = %block.head
  %131 = fadd float %46, %47
  %132 = fcmp uno float %47, %47
  %133 = select i1 %132, float %46, float %131
  %134 = fdiv float %133, %21
  %135 = fadd float %134, 0x3EB0C6F7A0000000
  %136 = call float @llvm.sqrt.f32(float %135)
  %137 = fdiv float 1.000000e+00, %136
  %138 = sub i64 %8, 0
  %139 = and i64 %138, -32
  %140 = add i64 0, %139
  br label %vector.head5

vector.head5:                                     ; preds = %endif, %block.end
  %vector7 = phi i64 [ 0, %block.end ], [ %209, %endif ]
  %141 = icmp slt i64 %vector7, %140
  br i1 %141, label %vector6, label %vector.end16

vector6:                                          ; preds = %vector.head5
  %142 = mul i64 %vector7, 1
  %143 = getelementptr float, ptr %43, i64 %142
  %144 = getelementptr float, ptr %143, i64 %28
  call void @llvm.prefetch.p0(ptr %144, i32 0, i32 3, i32 1)
  %145 = mul i64 %vector7, 1
  %146 = getelementptr float, ptr %43, i64 %145
  %147 = getelementptr float, ptr %146, i64 16
  %148 = getelementptr float, ptr %147, i64 %28
  call void @llvm.prefetch.p0(ptr %148, i32 0, i32 3, i32 1)
  %149 = mul i64 %vector7, 1
  %150 = getelementptr float, ptr %43, i64 %149
  %151 = load <8 x float>, ptr %150, align 4
  %152 = mul i64 %vector7, 1
  %153 = getelementptr float, ptr %43, i64 %152
  %154 = getelementptr float, ptr %153, i64 8
  %155 = load <8 x float>, ptr %154, align 4
  %156 = mul i64 %vector7, 1
  %157 = getelementptr float, ptr %43, i64 %156
  %158 = getelementptr float, ptr %157, i64 16
  %159 = load <8 x float>, ptr %158, align 4
  %160 = mul i64 %vector7, 1
  %161 = getelementptr float, ptr %43, i64 %160
  %162 = getelementptr float, ptr %161, i64 24
  %163 = load <8 x float>, ptr %162, align 4
  %.splatinsert8 = insertelement <8 x float> poison, float %137, i64 0
  %.splat9 = shufflevector <8 x float> %.splatinsert8, <8 x float> poison, <8 x i32> zeroinitializer
  %164 = fmul <8 x float> %151, %.splat9
  %.splatinsert10 = insertelement <8 x float> poison, float %137, i64 0
  %.splat11 = shufflevector <8 x float> %.splatinsert10, <8 x float> poison, <8 x i32> zeroinitializer
  %165 = fmul <8 x float> %155, %.splat11
  %.splatinsert12 = insertelement <8 x float> poison, float %137, i64 0
  %.splat13 = shufflevector <8 x float> %.splatinsert12, <8 x float> poison, <8 x i32> zeroinitializer
  %166 = fmul <8 x float> %159, %.splat13
  %.splatinsert14 = insertelement <8 x float> poison, float %137, i64 0
  %.splat15 = shufflevector <8 x float> %.splatinsert14, <8 x float> poison, <8 x i32> zeroinitializer
  %167 = fmul <8 x float> %163, %.splat15
  %168 = mul i64 %vector7, 1
  %169 = getelementptr float, ptr %12, i64 %168
  %170 = load <8 x float>, ptr %169, align 4
  %171 = mul i64 %vector7, 1
  %172 = getelementptr float, ptr %12, i64 %171
  %173 = getelementptr float, ptr %172, i64 8
  %174 = load <8 x float>, ptr %173, align 4
  %175 = mul i64 %vector7, 1
  %176 = getelementptr float, ptr %12, i64 %175
  %177 = getelementptr float, ptr %176, i64 16
  %178 = load <8 x float>, ptr %177, align 4
  %179 = mul i64 %vector7, 1
  %180 = getelementptr float, ptr %12, i64 %179
  %181 = getelementptr float, ptr %180, i64 24
  %182 = load <8 x float>, ptr %181, align 4
  %183 = fmul <8 x float> %164, %170
  %184 = fmul <8 x float> %165, %174
  %185 = fmul <8 x float> %166, %178
  %186 = fmul <8 x float> %167, %182
  br i1 %39, label %then, label %else

then:                                             ; preds = %vector6
  %187 = mul i64 %vector7, 1
  %188 = getelementptr float, ptr %45, i64 %187
  store <8 x float> %183, ptr %188, align 32, !nontemporal !0
  %189 = mul i64 %vector7, 1
  %190 = getelementptr float, ptr %45, i64 %189
  %191 = getelementptr float, ptr %190, i64 8
  store <8 x float> %184, ptr %191, align 32, !nontemporal !0
  %192 = mul i64 %vector7, 1
  %193 = getelementptr float, ptr %45, i64 %192
  %194 = getelementptr float, ptr %193, i64 16
  store <8 x float> %185, ptr %194, align 32, !nontemporal !0
  %195 = mul i64 %vector7, 1
  %196 = getelementptr float, ptr %45, i64 %195
  %197 = getelementptr float, ptr %196, i64 24
  store <8 x float> %186, ptr %197, align 32, !nontemporal !0
  br label %endif

else:                                             ; preds = %vector6
  %198 = mul i64 %vector7, 1
  %199 = getelementptr float, ptr %45, i64 %198
  store <8 x float> %183, ptr %199, align 4
  %200 = mul i64 %vector7, 1
  %201 = getelementptr float, ptr %45, i64 %200
  %202 = getelementptr float, ptr %201, i64 8
  store <8 x float> %184, ptr %202, align 4
  %203 = mul i64 %vector7, 1
  %204 = getelementptr float, ptr %45, i64 %203
  %205 = getelementptr float, ptr %204, i64 16
  store <8 x float> %185, ptr %205, align 4
  %206 = mul i64 %vector7, 1
  %207 = getelementptr float, ptr %45, i64 %206
  %208 = getelementptr float, ptr %207, i64 24
  store <8 x float> %186, ptr %208, align 4
  br label %endif

endif:                                            ; preds = %then, %else
  %209 = add i64 %vector7, 32
  br label %vector.head5

vector.end16:                                     ; preds = %vector.head5
  br label %tail.head17

tail.head17:                                      ; preds = %tail18, %vector.end16
  %tail19 = phi i64 [ %140, %vector.end16 ], [ %228, %tail18 ]
  %210 = icmp slt i64 %tail19, %8
  br i1 %210, label %tail18, label %tail.end24

tail18:                                           ; preds = %tail.head17
  %211 = sub i64 %8, %tail19
  %212 = call i64 @llvm.umin.i64(i64 %211, i64 8)
  %213 = trunc i64 %212 to i32
  %.splatinsert20 = insertelement <8 x i32> poison, i32 %213, i64 0
  %.splat21 = shufflevector <8 x i32> %.splatinsert20, <8 x i32> poison, <8 x i32> zeroinitializer
  %214 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat21
  %215 = mul i64 %tail19, 1
  %216 = getelementptr float, ptr %43, i64 %215
  %217 = getelementptr float, ptr %216, i64 %28
  call void @llvm.prefetch.p0(ptr %217, i32 0, i32 3, i32 1)
  %218 = mul i64 %tail19, 1
  %219 = getelementptr float, ptr %43, i64 %218
  %220 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %219, i32 4, <8 x i1> %214, <8 x float> zeroinitializer)
  %.splatinsert22 = insertelement <8 x float> poison, float %137, i64 0
  %.splat23 = shufflevector <8 x float> %.splatinsert22, <8 x float> poison, <8 x i32> zeroinitializer
  %221 = fmul <8 x float> %220, %.splat23
  %222 = mul i64 %tail19, 1
  %223 = getelementptr float, ptr %12, i64 %222
  %224 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %223, i32 4, <8 x i1> %214, <8 x float> zeroinitializer)
  %225 = fmul <8 x float> %221, %224
  %226 = mul i64 %tail19, 1
  %227 = getelementptr float, ptr %45, i64 %226
  call void @llvm.masked.store.v8f32.p0(<8 x float> %225, ptr %227, i32 4, <8 x i1> %214)
  %228 = add i64 %tail19, 8
  br label %tail.head17

tail.end24:                                       ; preds = %tail.head17
  %229 = add i64 %40, 1
  %230 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br i1 %39, label %then25, label %endif26

then25:                                           ; preds = %task.end
  call void @llvm.x86.sse.sfence()
  br label %endif26

endif26:                                          ; preds = %task.end, %then25
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smax.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.sqrt.f32(float) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: readwrite, inaccessiblemem: readwrite)
declare void @llvm.prefetch.p0(ptr nocapture readonly, i32 immarg, i32 immarg, i32 immarg) #3

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #4

; Function Attrs: nounwind
declare void @llvm.x86.sse.sfence() #0

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: readwrite, inaccessiblemem: readwrite) }
attributes #4 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }

!0 = !{i32 1}
