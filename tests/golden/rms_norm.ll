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
  %30 = mul i64 %22, %6
  %31 = icmp sge i64 %30, 8388608
  %32 = ptrtoint ptr %14 to i64
  %33 = or i64 0, %32
  %34 = mul i64 %18, 4
  %35 = or i64 %33, %34
  %36 = and i64 %35, 63
  %37 = icmp eq i64 %36, 0
  %38 = and i1 %31, %37
  br label %task.head

done:                                             ; preds = %endif26, %entry
  ret void

task.head:                                        ; preds = %tail.end24, %work
  %task1 = phi i64 [ %2, %work ], [ %229, %tail.end24 ]
  %39 = phi i64 [ %2, %work ], [ %228, %tail.end24 ]
  %40 = icmp slt i64 %task1, %3
  br i1 %40, label %task, label %task.end

task:                                             ; preds = %task.head
  %41 = mul i64 %39, %16
  %42 = getelementptr float, ptr %10, i64 %41
  %43 = mul i64 %39, %18
  %44 = getelementptr float, ptr %14, i64 %43
  br label %block.head

block.head:                                       ; preds = %tail.end, %task
  %block2 = phi i64 [ 0, %task ], [ %129, %tail.end ]
  %45 = phi float [ 0.000000e+00, %task ], [ %122, %tail.end ]
  %46 = phi float [ 0.000000e+00, %task ], [ %128, %tail.end ]
  %47 = icmp slt i64 %block2, %8
  br i1 %47, label %block, label %block.end

block:                                            ; preds = %block.head
  %48 = add i64 %block2, 8192
  %49 = call i64 @llvm.smin.i64(i64 %48, i64 %8)
  %50 = sub i64 %49, %block2
  %51 = and i64 %50, -32
  %52 = add i64 %block2, %51
  br label %vector.head

vector.head:                                      ; preds = %vector, %block
  %vector3 = phi i64 [ %block2, %block ], [ %85, %vector ]
  %53 = phi <8 x float> [ zeroinitializer, %block ], [ %57, %vector ]
  %54 = phi <8 x float> [ zeroinitializer, %block ], [ %58, %vector ]
  %55 = phi <8 x float> [ zeroinitializer, %block ], [ %59, %vector ]
  %56 = phi <8 x float> [ zeroinitializer, %block ], [ %60, %vector ]
  %57 = phi <8 x float> [ zeroinitializer, %block ], [ %81, %vector ]
  %58 = phi <8 x float> [ zeroinitializer, %block ], [ %82, %vector ]
  %59 = phi <8 x float> [ zeroinitializer, %block ], [ %83, %vector ]
  %60 = phi <8 x float> [ zeroinitializer, %block ], [ %84, %vector ]
  %61 = icmp slt i64 %vector3, %52
  br i1 %61, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %62 = mul i64 %vector3, 1
  %63 = getelementptr float, ptr %42, i64 %62
  %64 = load <8 x float>, ptr %63, align 4
  %65 = mul i64 %vector3, 1
  %66 = getelementptr float, ptr %42, i64 %65
  %67 = getelementptr float, ptr %66, i64 8
  %68 = load <8 x float>, ptr %67, align 4
  %69 = mul i64 %vector3, 1
  %70 = getelementptr float, ptr %42, i64 %69
  %71 = getelementptr float, ptr %70, i64 16
  %72 = load <8 x float>, ptr %71, align 4
  %73 = mul i64 %vector3, 1
  %74 = getelementptr float, ptr %42, i64 %73
  %75 = getelementptr float, ptr %74, i64 24
  %76 = load <8 x float>, ptr %75, align 4
  %77 = fmul <8 x float> %64, %64
  %78 = fmul <8 x float> %68, %68
  %79 = fmul <8 x float> %72, %72
  %80 = fmul <8 x float> %76, %76
  %81 = fadd <8 x float> %77, %53
  %82 = fadd <8 x float> %78, %54
  %83 = fadd <8 x float> %79, %55
  %84 = fadd <8 x float> %80, %56
  %85 = add i64 %vector3, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail4 = phi i64 [ %52, %vector.end ], [ %105, %tail ]
  %86 = phi <8 x float> [ %53, %vector.end ], [ %87, %tail ]
  %87 = phi <8 x float> [ %54, %vector.end ], [ %88, %tail ]
  %88 = phi <8 x float> [ %55, %vector.end ], [ %89, %tail ]
  %89 = phi <8 x float> [ %56, %vector.end ], [ %90, %tail ]
  %90 = phi <8 x float> [ %57, %vector.end ], [ %91, %tail ]
  %91 = phi <8 x float> [ %58, %vector.end ], [ %92, %tail ]
  %92 = phi <8 x float> [ %59, %vector.end ], [ %93, %tail ]
  %93 = phi <8 x float> [ %60, %vector.end ], [ %104, %tail ]
  %94 = icmp slt i64 %tail4, %49
  br i1 %94, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %95 = sub i64 %49, %tail4
  %96 = call i64 @llvm.umin.i64(i64 %95, i64 8)
  %97 = trunc i64 %96 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %97, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %98 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %99 = mul i64 %tail4, 1
  %100 = getelementptr float, ptr %42, i64 %99
  %101 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %100, i32 4, <8 x i1> %98, <8 x float> zeroinitializer)
  %102 = fmul <8 x float> %101, %101
  %103 = fadd <8 x float> %102, %86
  %104 = select <8 x i1> %98, <8 x float> %103, <8 x float> %86
  %105 = add i64 %tail4, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %106 = fadd <8 x float> %86, %90
  %107 = fadd <8 x float> %87, %91
  %108 = fadd <8 x float> %88, %92
  %109 = fadd <8 x float> %89, %93
  %110 = fadd <8 x float> %106, %108
  %111 = fadd <8 x float> %107, %109
  %112 = fadd <8 x float> %110, %111
  %113 = shufflevector <8 x float> %112, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %114 = shufflevector <8 x float> %112, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %115 = fadd <4 x float> %114, %113
  %116 = shufflevector <4 x float> %115, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %117 = shufflevector <4 x float> %115, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %118 = fadd <2 x float> %117, %116
  %119 = extractelement <2 x float> %118, i64 1
  %120 = extractelement <2 x float> %118, i64 0
  %121 = fadd float %120, %119
  %122 = fadd float %45, %121
  %123 = fsub float %122, %45
  %124 = fsub float %121, %123
  %125 = fsub float %122, %123
  %126 = fsub float %45, %125
  %127 = fadd float %126, %124
  %128 = fadd float %46, %127
  %129 = add i64 %block2, 8192
  br label %block.head

block.end:                                        ; preds = %block.head
  %130 = fadd float %45, %46
  %131 = fcmp uno float %46, %46
  %132 = select i1 %131, float %45, float %130
  %133 = fdiv float %132, %21
  %134 = fadd float %133, 0x3EB0C6F7A0000000
  %135 = call float @llvm.sqrt.f32(float %134)
  %136 = fdiv float 1.000000e+00, %135
  %137 = sub i64 %8, 0
  %138 = and i64 %137, -32
  %139 = add i64 0, %138
  br label %vector.head5

vector.head5:                                     ; preds = %endif, %block.end
  %vector7 = phi i64 [ 0, %block.end ], [ %208, %endif ]
  %140 = icmp slt i64 %vector7, %139
  br i1 %140, label %vector6, label %vector.end16

vector6:                                          ; preds = %vector.head5
  %141 = mul i64 %vector7, 1
  %142 = getelementptr float, ptr %42, i64 %141
  %143 = getelementptr float, ptr %142, i64 %28
  call void @llvm.prefetch.p0(ptr %143, i32 0, i32 3, i32 1)
  %144 = mul i64 %vector7, 1
  %145 = getelementptr float, ptr %42, i64 %144
  %146 = getelementptr float, ptr %145, i64 16
  %147 = getelementptr float, ptr %146, i64 %28
  call void @llvm.prefetch.p0(ptr %147, i32 0, i32 3, i32 1)
  %148 = mul i64 %vector7, 1
  %149 = getelementptr float, ptr %42, i64 %148
  %150 = load <8 x float>, ptr %149, align 4
  %151 = mul i64 %vector7, 1
  %152 = getelementptr float, ptr %42, i64 %151
  %153 = getelementptr float, ptr %152, i64 8
  %154 = load <8 x float>, ptr %153, align 4
  %155 = mul i64 %vector7, 1
  %156 = getelementptr float, ptr %42, i64 %155
  %157 = getelementptr float, ptr %156, i64 16
  %158 = load <8 x float>, ptr %157, align 4
  %159 = mul i64 %vector7, 1
  %160 = getelementptr float, ptr %42, i64 %159
  %161 = getelementptr float, ptr %160, i64 24
  %162 = load <8 x float>, ptr %161, align 4
  %.splatinsert8 = insertelement <8 x float> poison, float %136, i64 0
  %.splat9 = shufflevector <8 x float> %.splatinsert8, <8 x float> poison, <8 x i32> zeroinitializer
  %163 = fmul <8 x float> %150, %.splat9
  %.splatinsert10 = insertelement <8 x float> poison, float %136, i64 0
  %.splat11 = shufflevector <8 x float> %.splatinsert10, <8 x float> poison, <8 x i32> zeroinitializer
  %164 = fmul <8 x float> %154, %.splat11
  %.splatinsert12 = insertelement <8 x float> poison, float %136, i64 0
  %.splat13 = shufflevector <8 x float> %.splatinsert12, <8 x float> poison, <8 x i32> zeroinitializer
  %165 = fmul <8 x float> %158, %.splat13
  %.splatinsert14 = insertelement <8 x float> poison, float %136, i64 0
  %.splat15 = shufflevector <8 x float> %.splatinsert14, <8 x float> poison, <8 x i32> zeroinitializer
  %166 = fmul <8 x float> %162, %.splat15
  %167 = mul i64 %vector7, 1
  %168 = getelementptr float, ptr %12, i64 %167
  %169 = load <8 x float>, ptr %168, align 4
  %170 = mul i64 %vector7, 1
  %171 = getelementptr float, ptr %12, i64 %170
  %172 = getelementptr float, ptr %171, i64 8
  %173 = load <8 x float>, ptr %172, align 4
  %174 = mul i64 %vector7, 1
  %175 = getelementptr float, ptr %12, i64 %174
  %176 = getelementptr float, ptr %175, i64 16
  %177 = load <8 x float>, ptr %176, align 4
  %178 = mul i64 %vector7, 1
  %179 = getelementptr float, ptr %12, i64 %178
  %180 = getelementptr float, ptr %179, i64 24
  %181 = load <8 x float>, ptr %180, align 4
  %182 = fmul <8 x float> %163, %169
  %183 = fmul <8 x float> %164, %173
  %184 = fmul <8 x float> %165, %177
  %185 = fmul <8 x float> %166, %181
  br i1 %38, label %then, label %else

then:                                             ; preds = %vector6
  %186 = mul i64 %vector7, 1
  %187 = getelementptr float, ptr %44, i64 %186
  store <8 x float> %182, ptr %187, align 32, !nontemporal !0
  %188 = mul i64 %vector7, 1
  %189 = getelementptr float, ptr %44, i64 %188
  %190 = getelementptr float, ptr %189, i64 8
  store <8 x float> %183, ptr %190, align 32, !nontemporal !0
  %191 = mul i64 %vector7, 1
  %192 = getelementptr float, ptr %44, i64 %191
  %193 = getelementptr float, ptr %192, i64 16
  store <8 x float> %184, ptr %193, align 32, !nontemporal !0
  %194 = mul i64 %vector7, 1
  %195 = getelementptr float, ptr %44, i64 %194
  %196 = getelementptr float, ptr %195, i64 24
  store <8 x float> %185, ptr %196, align 32, !nontemporal !0
  br label %endif

else:                                             ; preds = %vector6
  %197 = mul i64 %vector7, 1
  %198 = getelementptr float, ptr %44, i64 %197
  store <8 x float> %182, ptr %198, align 4
  %199 = mul i64 %vector7, 1
  %200 = getelementptr float, ptr %44, i64 %199
  %201 = getelementptr float, ptr %200, i64 8
  store <8 x float> %183, ptr %201, align 4
  %202 = mul i64 %vector7, 1
  %203 = getelementptr float, ptr %44, i64 %202
  %204 = getelementptr float, ptr %203, i64 16
  store <8 x float> %184, ptr %204, align 4
  %205 = mul i64 %vector7, 1
  %206 = getelementptr float, ptr %44, i64 %205
  %207 = getelementptr float, ptr %206, i64 24
  store <8 x float> %185, ptr %207, align 4
  br label %endif

endif:                                            ; preds = %then, %else
  %208 = add i64 %vector7, 32
  br label %vector.head5

vector.end16:                                     ; preds = %vector.head5
  br label %tail.head17

tail.head17:                                      ; preds = %tail18, %vector.end16
  %tail19 = phi i64 [ %139, %vector.end16 ], [ %227, %tail18 ]
  %209 = icmp slt i64 %tail19, %8
  br i1 %209, label %tail18, label %tail.end24

tail18:                                           ; preds = %tail.head17
  %210 = sub i64 %8, %tail19
  %211 = call i64 @llvm.umin.i64(i64 %210, i64 8)
  %212 = trunc i64 %211 to i32
  %.splatinsert20 = insertelement <8 x i32> poison, i32 %212, i64 0
  %.splat21 = shufflevector <8 x i32> %.splatinsert20, <8 x i32> poison, <8 x i32> zeroinitializer
  %213 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat21
  %214 = mul i64 %tail19, 1
  %215 = getelementptr float, ptr %42, i64 %214
  %216 = getelementptr float, ptr %215, i64 %28
  call void @llvm.prefetch.p0(ptr %216, i32 0, i32 3, i32 1)
  %217 = mul i64 %tail19, 1
  %218 = getelementptr float, ptr %42, i64 %217
  %219 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %218, i32 4, <8 x i1> %213, <8 x float> zeroinitializer)
  %.splatinsert22 = insertelement <8 x float> poison, float %136, i64 0
  %.splat23 = shufflevector <8 x float> %.splatinsert22, <8 x float> poison, <8 x i32> zeroinitializer
  %220 = fmul <8 x float> %219, %.splat23
  %221 = mul i64 %tail19, 1
  %222 = getelementptr float, ptr %12, i64 %221
  %223 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %222, i32 4, <8 x i1> %213, <8 x float> zeroinitializer)
  %224 = fmul <8 x float> %220, %223
  %225 = mul i64 %tail19, 1
  %226 = getelementptr float, ptr %44, i64 %225
  call void @llvm.masked.store.v8f32.p0(<8 x float> %224, ptr %226, i32 4, <8 x i1> %213)
  %227 = add i64 %tail19, 8
  br label %tail.head17

tail.end24:                                       ; preds = %tail.head17
  %228 = add i64 %39, 1
  %229 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br i1 %38, label %then25, label %endif26

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
