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

done:                                             ; preds = %endif25, %entry
  ret void

task.head:                                        ; preds = %tail.end23, %work
  %task1 = phi i64 [ %2, %work ], [ %204, %tail.end23 ]
  %40 = phi i64 [ %2, %work ], [ %203, %tail.end23 ]
  %41 = icmp slt i64 %task1, %3
  br i1 %41, label %task, label %task.end

task:                                             ; preds = %task.head
  %42 = mul i64 %40, %16
  %43 = getelementptr float, ptr %10, i64 %42
  %44 = mul i64 %40, %18
  %45 = getelementptr float, ptr %14, i64 %44
  br label %block.head

block.head:                                       ; preds = %tail.end, %task
  %block2 = phi i64 [ 0, %task ], [ %125, %tail.end ]
  %46 = phi float [ 0.000000e+00, %task ], [ %118, %tail.end ]
  %47 = phi float [ 0.000000e+00, %task ], [ %124, %tail.end ]
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
  %vector3 = phi i64 [ %block2, %block ], [ %82, %vector ]
  %54 = phi <8 x float> [ zeroinitializer, %block ], [ %58, %vector ]
  %55 = phi <8 x float> [ zeroinitializer, %block ], [ %59, %vector ]
  %56 = phi <8 x float> [ zeroinitializer, %block ], [ %60, %vector ]
  %57 = phi <8 x float> [ zeroinitializer, %block ], [ %61, %vector ]
  %58 = phi <8 x float> [ zeroinitializer, %block ], [ %78, %vector ]
  %59 = phi <8 x float> [ zeroinitializer, %block ], [ %79, %vector ]
  %60 = phi <8 x float> [ zeroinitializer, %block ], [ %80, %vector ]
  %61 = phi <8 x float> [ zeroinitializer, %block ], [ %81, %vector ]
  %62 = icmp slt i64 %vector3, %53
  br i1 %62, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %63 = getelementptr float, ptr %43, i64 %vector3
  %64 = load <8 x float>, ptr %63, align 4
  %65 = getelementptr float, ptr %43, i64 %vector3
  %66 = getelementptr float, ptr %65, i64 8
  %67 = load <8 x float>, ptr %66, align 4
  %68 = getelementptr float, ptr %43, i64 %vector3
  %69 = getelementptr float, ptr %68, i64 16
  %70 = load <8 x float>, ptr %69, align 4
  %71 = getelementptr float, ptr %43, i64 %vector3
  %72 = getelementptr float, ptr %71, i64 24
  %73 = load <8 x float>, ptr %72, align 4
  %74 = fmul <8 x float> %64, %64
  %75 = fmul <8 x float> %67, %67
  %76 = fmul <8 x float> %70, %70
  %77 = fmul <8 x float> %73, %73
  %78 = fadd <8 x float> %74, %54
  %79 = fadd <8 x float> %75, %55
  %80 = fadd <8 x float> %76, %56
  %81 = fadd <8 x float> %77, %57
  %82 = add i64 %vector3, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail4 = phi i64 [ %53, %vector.end ], [ %101, %tail ]
  %83 = phi <8 x float> [ %54, %vector.end ], [ %84, %tail ]
  %84 = phi <8 x float> [ %55, %vector.end ], [ %85, %tail ]
  %85 = phi <8 x float> [ %56, %vector.end ], [ %86, %tail ]
  %86 = phi <8 x float> [ %57, %vector.end ], [ %87, %tail ]
  %87 = phi <8 x float> [ %58, %vector.end ], [ %88, %tail ]
  %88 = phi <8 x float> [ %59, %vector.end ], [ %89, %tail ]
  %89 = phi <8 x float> [ %60, %vector.end ], [ %90, %tail ]
  %90 = phi <8 x float> [ %61, %vector.end ], [ %100, %tail ]
  %91 = icmp slt i64 %tail4, %50
  br i1 %91, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %92 = sub i64 %50, %tail4
  %93 = call i64 @llvm.umin.i64(i64 %92, i64 8)
  %94 = trunc i64 %93 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %94, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %95 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %96 = getelementptr float, ptr %43, i64 %tail4
  %97 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %96, i32 4, <8 x i1> %95, <8 x float> zeroinitializer)
  %98 = fmul <8 x float> %97, %97
  %99 = fadd <8 x float> %98, %83
  %100 = select <8 x i1> %95, <8 x float> %99, <8 x float> %83
  %101 = add i64 %tail4, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %102 = fadd <8 x float> %83, %87
  %103 = fadd <8 x float> %84, %88
  %104 = fadd <8 x float> %85, %89
  %105 = fadd <8 x float> %86, %90
  %106 = fadd <8 x float> %102, %104
  %107 = fadd <8 x float> %103, %105
  %108 = fadd <8 x float> %106, %107
  %109 = shufflevector <8 x float> %108, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %110 = shufflevector <8 x float> %108, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %111 = fadd <4 x float> %110, %109
  %112 = shufflevector <4 x float> %111, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %113 = shufflevector <4 x float> %111, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %114 = fadd <2 x float> %113, %112
  %115 = extractelement <2 x float> %114, i64 1
  %116 = extractelement <2 x float> %114, i64 0
  %117 = fadd float %116, %115
  %118 = fadd float %46, %117
  %119 = fsub float %118, %46
  %120 = fsub float %117, %119
  %121 = fsub float %118, %119
  %122 = fsub float %46, %121
  %123 = fadd float %122, %120
  %124 = fadd float %47, %123
  %125 = add i64 %block2, 8192
  br label %block.head

block.end:                                        ; preds = %block.head
  %126 = fadd float %46, %47
  %127 = fcmp uno float %47, %47
  %128 = select i1 %127, float %46, float %126
  %129 = fdiv float %128, %21
  %130 = fadd float %129, 0x3EB0C6F7A0000000
  %131 = call float @llvm.sqrt.f32(float %130)
  %132 = fdiv float 1.000000e+00, %131
  %133 = sub i64 %8, 0
  %134 = and i64 %133, -32
  %135 = add i64 0, %134
  %136 = icmp slt i64 0, %135
  br i1 %136, label %vector5, label %vector.end15

vector5:                                          ; preds = %endif, %block.end
  %vector6 = phi i64 [ 0, %block.end ], [ %186, %endif ]
  %137 = getelementptr float, ptr %43, i64 %vector6
  %138 = getelementptr float, ptr %137, i64 %28
  call void @llvm.prefetch.p0(ptr %138, i32 0, i32 3, i32 1)
  %139 = getelementptr float, ptr %43, i64 %vector6
  %140 = getelementptr float, ptr %139, i64 16
  %141 = getelementptr float, ptr %140, i64 %28
  call void @llvm.prefetch.p0(ptr %141, i32 0, i32 3, i32 1)
  %142 = getelementptr float, ptr %43, i64 %vector6
  %143 = load <8 x float>, ptr %142, align 4
  %144 = getelementptr float, ptr %43, i64 %vector6
  %145 = getelementptr float, ptr %144, i64 8
  %146 = load <8 x float>, ptr %145, align 4
  %147 = getelementptr float, ptr %43, i64 %vector6
  %148 = getelementptr float, ptr %147, i64 16
  %149 = load <8 x float>, ptr %148, align 4
  %150 = getelementptr float, ptr %43, i64 %vector6
  %151 = getelementptr float, ptr %150, i64 24
  %152 = load <8 x float>, ptr %151, align 4
  %.splatinsert7 = insertelement <8 x float> poison, float %132, i64 0
  %.splat8 = shufflevector <8 x float> %.splatinsert7, <8 x float> poison, <8 x i32> zeroinitializer
  %153 = fmul <8 x float> %143, %.splat8
  %.splatinsert9 = insertelement <8 x float> poison, float %132, i64 0
  %.splat10 = shufflevector <8 x float> %.splatinsert9, <8 x float> poison, <8 x i32> zeroinitializer
  %154 = fmul <8 x float> %146, %.splat10
  %.splatinsert11 = insertelement <8 x float> poison, float %132, i64 0
  %.splat12 = shufflevector <8 x float> %.splatinsert11, <8 x float> poison, <8 x i32> zeroinitializer
  %155 = fmul <8 x float> %149, %.splat12
  %.splatinsert13 = insertelement <8 x float> poison, float %132, i64 0
  %.splat14 = shufflevector <8 x float> %.splatinsert13, <8 x float> poison, <8 x i32> zeroinitializer
  %156 = fmul <8 x float> %152, %.splat14
  %157 = getelementptr float, ptr %12, i64 %vector6
  %158 = load <8 x float>, ptr %157, align 4
  %159 = getelementptr float, ptr %12, i64 %vector6
  %160 = getelementptr float, ptr %159, i64 8
  %161 = load <8 x float>, ptr %160, align 4
  %162 = getelementptr float, ptr %12, i64 %vector6
  %163 = getelementptr float, ptr %162, i64 16
  %164 = load <8 x float>, ptr %163, align 4
  %165 = getelementptr float, ptr %12, i64 %vector6
  %166 = getelementptr float, ptr %165, i64 24
  %167 = load <8 x float>, ptr %166, align 4
  %168 = fmul <8 x float> %153, %158
  %169 = fmul <8 x float> %154, %161
  %170 = fmul <8 x float> %155, %164
  %171 = fmul <8 x float> %156, %167
  br i1 %39, label %then, label %else

then:                                             ; preds = %vector5
  %172 = getelementptr float, ptr %45, i64 %vector6
  store <8 x float> %168, ptr %172, align 32, !nontemporal !0
  %173 = getelementptr float, ptr %45, i64 %vector6
  %174 = getelementptr float, ptr %173, i64 8
  store <8 x float> %169, ptr %174, align 32, !nontemporal !0
  %175 = getelementptr float, ptr %45, i64 %vector6
  %176 = getelementptr float, ptr %175, i64 16
  store <8 x float> %170, ptr %176, align 32, !nontemporal !0
  %177 = getelementptr float, ptr %45, i64 %vector6
  %178 = getelementptr float, ptr %177, i64 24
  store <8 x float> %171, ptr %178, align 32, !nontemporal !0
  br label %endif

else:                                             ; preds = %vector5
  %179 = getelementptr float, ptr %45, i64 %vector6
  store <8 x float> %168, ptr %179, align 4
  %180 = getelementptr float, ptr %45, i64 %vector6
  %181 = getelementptr float, ptr %180, i64 8
  store <8 x float> %169, ptr %181, align 4
  %182 = getelementptr float, ptr %45, i64 %vector6
  %183 = getelementptr float, ptr %182, i64 16
  store <8 x float> %170, ptr %183, align 4
  %184 = getelementptr float, ptr %45, i64 %vector6
  %185 = getelementptr float, ptr %184, i64 24
  store <8 x float> %171, ptr %185, align 4
  br label %endif

endif:                                            ; preds = %then, %else
  %186 = add i64 %vector6, 32
  %187 = icmp slt i64 %186, %135
  br i1 %187, label %vector5, label %vector.end15

vector.end15:                                     ; preds = %endif, %block.end
  br label %tail.head16

tail.head16:                                      ; preds = %tail17, %vector.end15
  %tail18 = phi i64 [ %135, %vector.end15 ], [ %202, %tail17 ]
  %188 = icmp slt i64 %tail18, %8
  br i1 %188, label %tail17, label %tail.end23

tail17:                                           ; preds = %tail.head16
  %189 = sub i64 %8, %tail18
  %190 = call i64 @llvm.umin.i64(i64 %189, i64 8)
  %191 = trunc i64 %190 to i32
  %.splatinsert19 = insertelement <8 x i32> poison, i32 %191, i64 0
  %.splat20 = shufflevector <8 x i32> %.splatinsert19, <8 x i32> poison, <8 x i32> zeroinitializer
  %192 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat20
  %193 = getelementptr float, ptr %43, i64 %tail18
  %194 = getelementptr float, ptr %193, i64 %28
  call void @llvm.prefetch.p0(ptr %194, i32 0, i32 3, i32 1)
  %195 = getelementptr float, ptr %43, i64 %tail18
  %196 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %195, i32 4, <8 x i1> %192, <8 x float> zeroinitializer)
  %.splatinsert21 = insertelement <8 x float> poison, float %132, i64 0
  %.splat22 = shufflevector <8 x float> %.splatinsert21, <8 x float> poison, <8 x i32> zeroinitializer
  %197 = fmul <8 x float> %196, %.splat22
  %198 = getelementptr float, ptr %12, i64 %tail18
  %199 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %198, i32 4, <8 x i1> %192, <8 x float> zeroinitializer)
  %200 = fmul <8 x float> %197, %199
  %201 = getelementptr float, ptr %45, i64 %tail18
  call void @llvm.masked.store.v8f32.p0(<8 x float> %200, ptr %201, i32 4, <8 x i1> %192)
  %202 = add i64 %tail18, 8
  br label %tail.head16

tail.end23:                                       ; preds = %tail.head16
  %203 = add i64 %40, 1
  %204 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br i1 %39, label %then24, label %endif25

then24:                                           ; preds = %task.end
  call void @llvm.x86.sse.sfence()
  br label %endif25

endif25:                                          ; preds = %task.end, %then24
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
